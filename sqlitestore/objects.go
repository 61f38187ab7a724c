package sqlitestore

import (
	"reflect"
	"sync"

	"cadre"
	"cadre/internal/plainjson"
)

// objects decodes what the object table holds. Those that lists are made of are
// read by plainjson; whatever it does not take is read as everywhere else. The
// zero value is ready.
type objects struct {
	mu    sync.Mutex
	plans map[cadre.Kind]*plainjson.Decoder
}

// blank gives an empty object of a kind that there are many of, else nil.
func blank(k cadre.Kind) cadre.Object {
	switch k {
	case cadre.KindTask:
		return &cadre.Task{}
	case cadre.KindMessage:
		return &cadre.Message{}
	case cadre.KindMember:
		return &cadre.Member{}
	case cadre.KindComment:
		return &cadre.Comment{}
	}
	return nil
}

// plan gives the decoder of a kind. Making one costs as much as some hundred
// objects by encoding/json, and most processes need one kind.
func (o *objects) plan(k cadre.Kind) *plainjson.Decoder {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.plans[k]
	if sample := blank(k); p == nil && sample != nil {
		p = plainjson.New(reflect.TypeOf(sample).Elem())
		if o.plans == nil {
			o.plans = map[cadre.Kind]*plainjson.Decoder{}
		}
		o.plans[k] = p
	}
	return p
}

// decode reads one object, with the plan of its kind where there is one.
func decode(p *plainjson.Decoder, k cadre.Kind, image []byte) (cadre.Object, error) {
	if p != nil {
		if o := blank(k); p.Decode(string(image), reflect.ValueOf(o).Elem()) {
			return o, nil
		}
	}
	o, err := cadre.DecodeObject(k, image)
	if err != nil {
		return nil, cadre.Fault(err, "cadre audit verify", "reading an object of the database")
	}
	return o, nil
}
