// Package support is what programs that migrate from gotorch get a copy of, as far as they need it: functions over the public
// packages alone, with gotorch's results. It is never imported.
package support
