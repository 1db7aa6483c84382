// Package clitest runs an example's test binary as the example itself, so that tests can see
// its exit code and send it signals, also where there is no Go toolchain.
//
//	func TestMain(m *testing.M) { clitest.Main(m, main) }
package clitest
