package cli

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cadre"
	"cadre/coord"
)

// anchorFormat names the document that audit anchor prints.
const anchorFormat = "cadre-anchor/1"

const (
	anchorKey      = "anchor.key"
	maxAnchorsFile = 16 << 20
)

// anchorDoc says where every log stood at a time, signed, to be kept elsewhere.
// The signature is over the document without it.
type anchorDoc struct {
	Format    string         `json:"format"`
	Time      time.Time      `json:"time"`
	Anchors   []cadre.Anchor `json:"anchors"`
	PublicKey string         `json:"publicKey"`
	Signature string         `json:"signature,omitempty"`
}

// signed gives the bytes that the signature is over.
func (d anchorDoc) signed() ([]byte, error) {
	d.Signature = ""
	return json.Marshal(d)
}

// signedAnchor is the anchor verb on the command line: what it answers is signed
// with the key of the state folder.
type signedAnchor struct{}

func (v *signedAnchor) read(*program) (any, error) { return &coord.AuditAnchor{}, nil }

func (v *signedAnchor) finish(p *program, answer any) (any, error) {
	anchors, ok := answer.([]cadre.Anchor)
	if !ok {
		return answer, nil
	}
	if len(anchors) == 0 {
		return nil, cadre.Refuse(cadre.RuleMissing, `cadre task add "what is to be done"`, "there is no record yet to anchor")
	}
	key, err := p.signingKey()
	if err != nil {
		return nil, err
	}
	doc := &anchorDoc{Format: anchorFormat, Time: p.now().Wall.UTC().Truncate(time.Second), Anchors: anchors, PublicKey: publicHex(key)}
	data, err := doc.signed()
	if err != nil {
		return nil, fmt.Errorf("encoding the anchor: %w", err)
	}
	doc.Signature = hex.EncodeToString(ed25519.Sign(key, data))
	return doc, nil
}

// anchor prints the document, which is made to be kept in a file.
func (pg *page) anchor(doc *anchorDoc) {
	if err := pg.writeJSON(doc); err != nil {
		pg.warn("%s", err)
	}
}

func publicHex(key ed25519.PrivateKey) string {
	return hex.EncodeToString(key[ed25519.SeedSize:])
}

// signingKey is the key that this state folder signs with, made at first use.
// Whoever makes it first wins: two processes never sign with different keys.
func (p *program) signingKey() (ed25519.PrivateKey, error) {
	if key, err := p.readKey(); err != nil || key != nil {
		return key, err
	}
	dir, err := p.stateDir()
	if err != nil {
		return nil, err
	}
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)                             // never fails
	temp, err := os.CreateTemp(dir, "anchor-*") // 0600
	if err != nil {
		return nil, cadre.Fault(err, "ls -ld "+dir, "making the signing key")
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(hex.EncodeToString(seed) + "\n")
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Link(temp.Name(), filepath.Join(dir, anchorKey)) // whole, or not at all
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, cadre.Fault(err, "ls -l "+dir, "keeping the signing key")
	}
	key, err := p.readKey()
	if err == nil && key == nil {
		err = cadre.Fault(nil, "cadre audit anchor", "the signing key was removed while it was made")
	}
	return key, err
}

// readKey reads the state folder's key, nil where there is none.
func (p *program) readKey() (ed25519.PrivateKey, error) {
	dir, err := p.stateDir()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, anchorKey)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, cadre.Fault(nil, "ls -l "+path, "%s is not a plain file and must be one: remove it", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, cadre.Fault(err, "ls -l "+path, "reading the signing key")
	}
	seed, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, cadre.Fault(nil, "move "+path+" away", "the signing key in %s is damaged", path)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// checkAnchors reads one kept document: the anchors in it, or what is wrong with it.
func checkAnchors(in io.Reader, name string, trusted []string) (anchors []cadre.Anchor, wrong string) {
	data, err := io.ReadAll(io.LimitReader(in, maxAnchorsFile+1))
	if err != nil || len(data) > maxAnchorsFile {
		return nil, "cannot be read as an anchor"
	}
	var doc anchorDoc
	if json.Unmarshal(data, &doc) != nil || doc.Format != anchorFormat || !saysOnly(data, doc) {
		return nil, "is not a document of cadre audit anchor"
	}
	public, err := hex.DecodeString(doc.PublicKey)
	signature, err2 := hex.DecodeString(doc.Signature)
	signed, err3 := doc.signed()
	whole := err == nil && err2 == nil && err3 == nil && len(public) == ed25519.PublicKeySize
	if !whole || hex.EncodeToString(signature) != doc.Signature || !ed25519.Verify(public, signed, signature) {
		return nil, "was changed: its signature does not fit"
	}
	if !containsFold(trusted, doc.PublicKey) {
		return nil, "is signed with another key: " + doc.PublicKey
	}
	for i := range doc.Anchors {
		doc.Anchors[i].From = name
	}
	return doc.Anchors, ""
}

// saysOnly says whether a file is this document and nothing else, but for its
// layout. The signature is over what was understood: a key that stands twice, in
// other letters or beside the known ones would be read by others and signed by
// nobody.
func saysOnly(data []byte, doc anchorDoc) bool {
	var have, want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false) // as it is written
	return json.Compact(&have, data) == nil && enc.Encode(doc) == nil && bytes.Equal(have.Bytes(), bytes.TrimSpace(want.Bytes()))
}

func containsFold(list []string, s string) bool {
	for _, x := range list {
		if strings.EqualFold(x, s) {
			return true
		}
	}
	return false
}
