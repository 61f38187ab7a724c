package bootclock

import "testing"

func TestNowGoesOnWithinOneBoot(t *testing.T) {
	a, b := Now(), Now()
	if a.Boot == "" || a.Boot != b.Boot || a.Up <= 0 || b.Up < a.Up {
		t.Errorf("Now() = %+v, then %+v", a, b)
	}
}
