package cli

import (
	"cadre"
	"cadre/coord"
)

// verifyFiles is the audit on the command line: it holds the record against
// anchors that were kept in files.
type verifyFiles struct {
	Anchors []string `json:"anchors,omitempty" help:"files that cadre audit anchor wrote"`
	Trust   []string `json:"trust,omitempty" help:"public keys to trust besides this machine's own"`
	More    []string `json:"more,omitempty" arg:"[FILE...]" help:"more such files"`

	wrong []cadre.Finding
}

// read checks the files; one that was forged is a finding, not an anchor.
func (v *verifyFiles) read(p *program) (any, error) {
	files := append(v.Anchors, v.More...)
	verb := &coord.AuditVerify{Anchors: files}
	trusted := v.Trust
	if len(files) > 0 {
		key, err := p.readKey()
		if err != nil {
			return nil, err
		}
		if key != nil {
			trusted = append(trusted, publicHex(key))
		}
	}
	for _, name := range files {
		in, err := p.openInput(name)
		if err != nil {
			return nil, err
		}
		anchors, wrong := checkAnchors(in, name, trusted)
		in.Close()
		if wrong != "" {
			v.wrong = append(v.wrong, cadre.Finding{Place: name, What: wrong})
		}
		verb.Kept = append(verb.Kept, anchors...)
	}
	return verb, nil
}

// finish adds what is wrong with the files to what is wrong with the record.
func (v *verifyFiles) finish(_ *program, answer any) (any, error) {
	report, ok := answer.(*cadre.AuditReport)
	if !ok {
		return answer, nil
	}
	report.Findings = append(report.Findings, v.wrong...)
	if report.Findings == nil {
		report.Findings = []cadre.Finding{}
	}
	return report, nil
}
