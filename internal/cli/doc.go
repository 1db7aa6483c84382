// Package cli is what the command lines of this module have in common: an interrupt ends a
// run cleanly, a mistake is one line on stderr, and the exit code says which of them it was;
// -device means the same everywhere.
//
//	func main() { cli.Main("mnist", command) }
//
//	func command(ctx context.Context, args []string, out io.Writer) error {
//		fs := flag.NewFlagSet("mnist", flag.ContinueOnError)
//		epochs := fs.Int("epochs", 3, "passes over the images")
//		if err := cli.Parse(fs, args, out, "mnist trains …"); err != nil {
//			return err
//		}
//		if err := cli.Positive("epochs", float64(*epochs)); err != nil {
//			return err
//		}
//		…
//	}
package cli
