package cadre

import "strings"

// MadeUpName makes a team's name of a number: an adjective, a verb, an animal.
func MadeUpName(n uint64) string {
	pick := func(words string) string {
		list := strings.Fields(words)
		word := list[n%uint64(len(list))]
		n /= uint64(len(list))
		return word
	}
	return pick(adjectives) + "-" + pick(verbs) + "-" + pick(animals)
}

const (
	adjectives = `amber brave bright brisk calm clever cosy curious eager early fair fearless fresh gentle glad golden
		grand happy hardy honest humble jolly keen kind light lively lucky mellow merry mighty modest nimble
		noble patient plucky polite proud quick quiet ready rosy sharp shy silver smooth snug sober solid
		spry steady sturdy sunny swift tidy tough trusty upbeat vivid warm wise witty young zesty zippy`
	verbs = `baking biking boating bowing building buzzing calling carving chasing chiming climbing cooking
		counting dancing darting dashing dipping diving drawing drifting drumming fishing flying folding
		gliding glowing hiking hopping humming joking juggling jumping kicking knitting laughing leaping
		marching mending painting pacing planting playing racing reading riding rolling rowing running
		sailing singing skating sliding soaring spinning stacking sweeping swimming tapping trading walking waving weaving`
	animals = `ant badger bat bear beaver bee bison camel cat clam crab crane crow deer dolphin donkey dove duck
		eagle elk emu falcon ferret finch fox frog gecko goat goose gull hare hawk hedgehog heron horse
		ibex jackal jay koala lark lemur lion llama lynx magpie marmot mole moose moth mouse newt otter
		owl panda pelican puffin quail rabbit raven robin seal shrew sloth snail stork swan tapir tern tiger toad trout turtle vole walrus wasp weasel whale wombat wren yak zebra`
)

// Distance counts the letters to insert, remove, replace or swap with their
// neighbour to make one word of the other.
func Distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last = last, row
		row = make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
