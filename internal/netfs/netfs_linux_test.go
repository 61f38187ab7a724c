package netfs

import "testing"

func TestNameOf(t *testing.T) {
	for _, c := range []struct {
		magic uint32
		want  string
	}{
		{0xef53, ""},
		{0x01021994, ""},
		{0x794c7630, ""},
		{0x58465342, ""},
		{0x9123683e, ""},
		{0x6969, "nfs"},
		{0xff534d42, "smb"},
		{0xfe534d42, "smb"},
		{0x01021997, "9p"},
		{0x00c36400, "ceph"},
	} {
		if got := nameOf(c.magic); got != c.want {
			t.Errorf("nameOf(%#x) = %q, want %q", c.magic, got, c.want)
		}
	}
	if name, err := Name(t.TempDir()); err != nil || name != "" {
		t.Errorf("Name of a temporary folder = %q, %v", name, err)
	}
}
