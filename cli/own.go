package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version says what this program is.
type version struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
}

// thisVersion reads what the build recorded.
func thisVersion() version {
	v := version{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which version this is", Example: "cadre version --json", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArgs(cmd, args); err != nil {
				return err
			}
			if err := p.checkOptions(); err != nil {
				return err
			}
			v := thisVersion()
			if p.json || p.jsonl {
				return p.writeJSON(v)
			}
			if p.quiet {
				p.printf("%s\n", v.Version)
				return nil
			}
			p.printf("cadre %s (%s %s/%s", v.Version, v.Go, v.OS, v.Arch)
			if v.Revision != "" {
				p.printf(", %.12s", v.Revision)
			}
			p.printf(")\n")
			return nil
		},
	}
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd.CommandPath(), "%s takes no arguments, but %q was given", cmd.Name(), args[0])
	}
	return nil
}

// plainBash is for a bash without the package bash-completion, which the script before it
// relies on: words are then as bash splits them, and files are what bash itself offers.
const plainBash = `
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    __cadre_init_completion()
    {
        COMPREPLY=() words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
        cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    }
    declare -F _filedir >/dev/null || _filedir() { :; }
fi
`

func (p *program) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "completion", Short: "Write a shell's completion script: bash, zsh, fish or powershell",
		Example: "cadre completion bash > ~/.local/share/bash-completion/completions/cadre", Args: cobra.ArbitraryArgs,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("cadre completion bash", "completion takes one SHELL: bash, zsh, fish or powershell")
			}
			switch args[0] {
			case "bash":
				err := p.root.GenBashCompletionV2(p.out, true)
				p.printf("%s", plainBash)
				return err
			case "zsh":
				return p.root.GenZshCompletion(p.out)
			case "fish":
				return p.root.GenFishCompletion(p.out, true)
			case "powershell":
				return p.root.GenPowerShellCompletionWithDesc(p.out)
			}
			return usage("cadre completion bash", "there is no completion for %q: use bash, zsh, fish or powershell", args[0])
		},
	}
}
