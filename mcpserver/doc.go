// Package mcpserver is the door for agents that speak the Model Context Protocol:
// tools, resources and prompts over a pipe or over Streamable HTTP. It has no rules
// of its own. A tool is a verb of the registry under the name and with the field names
// that Claude Code gives it, so that prompts and skills written for that work here.
//
// Who calls is fixed when the connection begins, by the pipe or by the token, and no
// parameter changes it: a call that tries is refused, logged, and told to the lead.
//
// A Server may have any number of connections.
package mcpserver
