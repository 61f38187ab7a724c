package swapfile

// Basic makes a folder behave as one on a file system that knows neither exchange
// nor no-replace.
func (d *Dir) Basic() { d.basic.Store(true) }
