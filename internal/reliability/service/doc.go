// Package service holds no code: its tests are the life of a process that trains and
// serves, and are part of the card that package reliability describes.
//
//   - a thousand callers of one network (serve_test.go), and threads of their own (modes_test.go);
//   - training and serving at the same time for minutes (soak_test.go);
//   - every way to end, programs started on the way, a profiler's signals (ends_test.go);
//   - the peak memory of ResNet-50, beside Python's (footprint_test.go).
package service
