package cli

import (
	"path/filepath"

	"cadre/coord"
)

// trusted shows settings and the hooks in them, each whole: what is cut off might be
// the worst of it.
func (pg *page) trusted(files []*coord.TrustView) {
	if len(files) == 0 {
		pg.talk("no project's hooks are trusted, and there are none here")
		return
	}
	for _, f := range files {
		state := trustState(f.State)
		pg.printf("%s  %s\n", line(f.File), pg.paint(state.style, state.text))
		if f.Error != "" {
			pg.printf("  %s\n", line(f.Error))
		}
		for _, h := range f.Hooks {
			matcher := ""
			if h.Matcher != "" {
				matcher = "(" + line(h.Matcher) + ") "
			}
			pg.printf("  %-13s  %s%s\n", line(string(h.Event)), matcher, line(h.Command))
		}
	}
	project := filepath.Dir(filepath.Dir(files[0].File))
	switch files[0].State {
	case coord.Trusts:
		pg.hint("trusted hooks run until their file changes; to take it back: cadre trust --remove %s", project)
	case coord.Untrusted, coord.Changed:
		pg.hint("what is not trusted does not run; to trust it as it is: cadre trust %s", project)
	}
}

func trustState(s coord.TrustState) cell {
	switch s {
	case coord.Trusts:
		return cell{"✓ trusted", green}
	case coord.Untrusted, coord.Changed:
		return cell{"✗ " + string(s), red}
	}
	return cell{"· " + string(s), dim}
}
