package cadre

import (
	"sort"
	"strings"
)

// sortedKeys is an ordered set of keys in blocks: small enough to insert into by
// moving memory, and read in order without pointers to chase.
type sortedKeys struct{ blocks [][]keyed }

type keyed struct {
	key string
	ref Ref
}

const maxBlock = 512

// find gives the first place at or after a key.
func (k *sortedKeys) find(key string) (block, i int) {
	b := sort.Search(len(k.blocks), func(n int) bool {
		last := k.blocks[n]
		return last[len(last)-1].key >= key
	})
	if b == len(k.blocks) {
		return b, 0
	}
	return b, sort.Search(len(k.blocks[b]), func(n int) bool { return k.blocks[b][n].key >= key })
}

func (k *sortedKeys) add(key string, ref Ref) {
	if len(k.blocks) == 0 {
		k.blocks = [][]keyed{{{key, ref}}}
		return
	}
	b, i := k.find(key)
	if b == len(k.blocks) {
		b--
		i = len(k.blocks[b])
	}
	block := k.blocks[b]
	if i < len(block) && block[i].key == key {
		block[i].ref = ref
		return
	}
	block = append(block, keyed{})
	copy(block[i+1:], block[i:])
	block[i] = keyed{key, ref}
	k.blocks[b] = block
	if len(block) > maxBlock {
		half := len(block) / 2
		right := append([]keyed(nil), block[half:]...)
		k.blocks[b] = block[:half:half]
		k.blocks = append(k.blocks, nil)
		copy(k.blocks[b+2:], k.blocks[b+1:])
		k.blocks[b+1] = right
	}
}

func (k *sortedKeys) remove(key string) {
	b, i := k.find(key)
	if b == len(k.blocks) || k.blocks[b][i].key != key {
		return
	}
	block := k.blocks[b]
	copy(block[i:], block[i+1:])
	block[len(block)-1] = keyed{}
	k.blocks[b] = block[:len(block)-1]
	if len(k.blocks[b]) == 0 {
		k.blocks = append(k.blocks[:b], k.blocks[b+1:]...)
	}
}

// each calls yield for the keys that begin with prefix and come after another,
// in order, until it answers false.
func (k *sortedKeys) each(prefix, after string, yield func(string, Ref) bool) {
	b, i := k.find(max(prefix, after))
	for ; b < len(k.blocks); b, i = b+1, 0 {
		for ; i < len(k.blocks[b]); i++ {
			e := k.blocks[b][i]
			if !strings.HasPrefix(e.key, prefix) {
				return
			}
			if e.key != after && !yield(e.key, e.ref) {
				return
			}
		}
	}
}
