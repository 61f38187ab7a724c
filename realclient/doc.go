// Package realclient runs Cadre beside the real Claude Code, in two versions whose
// teams work differently: 2.1.50, which has TeamCreate, and 2.1.325, where every
// session is a team of its own.
//
// The client is the one that its users have, in a home folder that exists for one
// test. Only what its model says is made up: the tests answer in the model's place,
// over the client's own protocol and a real socket. A client waits for its model as
// long as it takes, so that a test can run cadre at any point between two turns.
//
// The tests need the build tag realclient and `make test-realclient`, which
// installs the clients. docs/realclient.md says more.
package realclient
