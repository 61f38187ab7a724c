package swapfile

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

func lstat(d *Dir, name string) (Stamp, fs.FileMode, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return Stamp{}, 0, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return Stamp{}, fs.ModeIrregular, nil
	}
	f, err := d.root.Open(name)
	if err != nil {
		return Stamp{}, 0, err
	}
	defer f.Close()
	return fstat(f)
}

func fstat(f *os.File) (Stamp, fs.FileMode, error) {
	info, err := f.Stat()
	if err != nil {
		return Stamp{}, 0, err
	}
	var by windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &by); err != nil {
		return Stamp{}, 0, err
	}
	return Stamp{
		Ino:   uint64(by.FileIndexHigh)<<32 | uint64(by.FileIndexLow),
		Size:  info.Size(),
		MTime: info.ModTime().UnixNano(),
		CTime: by.CreationTime.Nanoseconds(),
	}, info.Mode(), nil
}

func openNoFollow(d *Dir, name string) (*os.File, error) {
	if _, mode, err := lstat(d, name); err != nil {
		return nil, err
	} else if mode&fs.ModeIrregular != 0 {
		return nil, ErrIrregular
	}
	return d.root.Open(name)
}
