package storetest

import (
	"slices"
	"testing"
	"time"
)

// reportPercentile adds the median and the 99th percentile to a benchmark.
func reportPercentile(b *testing.B, waits []time.Duration) {
	if len(waits) == 0 {
		return
	}
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(waits[len(waits)*99/100].Nanoseconds()), "p99-ns")
}
