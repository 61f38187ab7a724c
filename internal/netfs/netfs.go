// Package netfs tells whether a folder is on a network file system, where
// neither file locks nor shared memory can be relied on.
package netfs
