package cli

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cadre"
)

func signedDoc(t *testing.T, seed byte) (string, string) {
	t.Helper()
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize)))
	doc := anchorDoc{
		Format: anchorFormat, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), PublicKey: publicHex(key),
		Anchors: []cadre.Anchor{{Scope: "docs", Head: cadre.Head{Epoch: "e", Seq: 7, Hash: "aa"}}},
	}
	data, err := doc.signed()
	if err != nil {
		t.Fatal(err)
	}
	doc.Signature = hex.EncodeToString(ed25519.Sign(key, data))
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), doc.PublicKey
}

func TestCheckAnchors(t *testing.T) {
	good, public := signedDoc(t, 'a')
	anchors, wrong := checkAnchors(strings.NewReader(good), "kept.json", []string{strings.ToUpper(public)})
	if wrong != "" || len(anchors) != 1 || anchors[0].From != "kept.json" || anchors[0].Head.Seq != 7 {
		t.Fatalf("checkAnchors() = %+v, %q", anchors, wrong)
	}
	var laidOut bytes.Buffer
	if err := json.Indent(&laidOut, []byte(good+"\n"), "", "  "); err != nil {
		t.Fatal(err)
	}
	if _, wrong := checkAnchors(&laidOut, "kept.json", []string{public}); wrong != "" {
		t.Errorf("the same document laid out for a person %s", wrong)
	}
	other, _ := signedDoc(t, 'b')
	for name, doc := range map[string]string{
		"another key":   other,
		"another seq":   strings.Replace(good, `"seq":7`, `"seq":8`, 1),
		"another scope": strings.Replace(good, `"docs"`, `"dogs"`, 1),
		"another time":  strings.Replace(good, "03:04:05", "03:04:06", 1),
		"unknown field": strings.Replace(good, `"format"`, `"more":1,"format"`, 1),
		"no signature":  good[:strings.Index(good, `,"signature"`)] + "}",
		"two documents": good + good,
		"key twice":     strings.Replace(good, `"seq":7`, `"seq":9,"seq":7`, 1),
		"format twice":  strings.Replace(good, `{"format"`, `{"format":"cadre-anchor/2","format"`, 1),
		"other letters": strings.Replace(good, `"format"`, `"FORMAT"`, 1),
		"a bracket":     good + "]",
		"a brace":       good + "}",
		"from":          strings.Replace(good, `"head"`, `"from":"","head"`, 1),
		"cut":           good[:len(good)/2],
		"empty":         "",
	} {
		if anchors, wrong := checkAnchors(strings.NewReader(doc), name, []string{public}); wrong == "" || anchors != nil {
			t.Errorf("%s was taken: %+v", name, anchors)
		}
	}
}

func TestSigningKeyIsMadeOnceAndPrivate(t *testing.T) {
	dir := t.TempDir()
	p := &program{env: map[string]string{"CADRE_STATE_DIR": dir}}
	first, err := p.signingKey()
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.signingKey()
	if err != nil || !first.Equal(again) {
		t.Errorf("the second key is another one: %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, anchorKey))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's mode is %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := os.WriteFile(filepath.Join(dir, anchorKey), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.signingKey(); err == nil {
		t.Error("a damaged key was used")
	}
}
