package netfs

import (
	"fmt"
	"syscall"
)

// Name gives the name of the network file system that a folder is on, and
// nothing for a folder on this machine.
func Name(dir string) (string, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "", fmt.Errorf("statfs %s: %w", dir, err)
	}
	return nameOf(uint32(st.Type)), nil
}

// nameOf knows the magic numbers of linux/magic.h and of file systems outside it.
func nameOf(magic uint32) string {
	switch magic {
	case 0x6969:
		return "nfs"
	case 0xff534d42, 0xfe534d42, 0x517b:
		return "smb"
	case 0x01021997:
		return "9p"
	case 0x5346414f, 0x6b414653:
		return "afs"
	case 0x00c36400:
		return "ceph"
	case 0x73757245:
		return "coda"
	case 0x564c:
		return "ncp"
	case 0x0bd00bd0:
		return "lustre"
	case 0x01161970:
		return "gfs2"
	case 0x7461636f:
		return "ocfs2"
	case 0x19830326:
		return "beegfs"
	}
	return ""
}
