package mcpserver

// Cost is what a tier's list of tools costs a conversation.
type Cost struct {
	Tier   Tier  `json:"tier"`
	Tools  int   `json:"tools"`
	Bytes  int   `json:"bytes"`
	Tokens int   `json:"tokens"`
	Each   []One `json:"each"`
}

// One is what one tool costs.
type One struct {
	Name   string `json:"name"`
	Verb   string `json:"verb"`
	Tokens int    `json:"tokens"`
	About  string `json:"about"`
}

// Explain says what each tier costs. A token is counted as three bytes of the name, the
// description and the schema, as JSON: real tokenisers come to four or more, so that
// what is said here is not too little.
func Explain() []Cost {
	var out []Cost
	for _, tier := range Tiers {
		c := Cost{Tier: tier}
		for _, t := range toolsOf(tier) {
			n := t.bytes()
			c.Tools++
			c.Bytes += n
			c.Each = append(c.Each, One{t.name, t.verb, tokens(n), t.about})
		}
		c.Tokens = tokens(c.Bytes)
		out = append(out, c)
	}
	return out
}

// bytes is what a model reads of the tool.
func (t *tool) bytes() int {
	return len(mustJSON(map[string]any{"name": t.name, "description": t.about, "input_schema": t.schema()}))
}

func tokens(bytes int) int { return (bytes + 2) / 3 }
