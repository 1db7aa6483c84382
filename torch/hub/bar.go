package hub

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Bar draws a bar of one line, for Options.Progress:
//
//	hub.Options{Progress: hub.Bar(os.Stderr)}
func Bar(w io.Writer) func(done, total int64) {
	const width, pause = 40, 100 * time.Millisecond
	began, drawn := time.Now(), time.Time{}
	return func(done, total int64) {
		last := done == total
		if !last && time.Since(drawn) < pause {
			return
		}
		drawn = time.Now()
		line := fmt.Sprintf("\r%6.1f MB", float64(done)/1e6)
		if total > 0 {
			full := int(width * min(done, total) / total)
			line = fmt.Sprintf("\r%3d%% |%-*s| %.1f/%.1f MB", 100*done/total, width, strings.Repeat("#", full), float64(done)/1e6,
				float64(total)/1e6)
		}
		if s := time.Since(began).Seconds(); s > 0 {
			line += fmt.Sprintf(" %.1f MB/s", float64(done)/1e6/s)
		}
		if last {
			line += "\n"
		}
		_, _ = io.WriteString(w, line)
	}
}
