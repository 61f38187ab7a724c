package sqlitestore

import "fmt"

// number reads a column that must be a whole number.
func number(v any) (int64, error) {
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("a number was expected, not %T", v)
	}
	return n, nil
}

// text reads a column that holds text, in whichever way it was stored.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case int64, float64:
		return fmt.Sprint(v)
	}
	return ""
}

// data reads a column that holds bytes.
func data(v any) []byte {
	switch v := v.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}
