// Package refused makes the errors that say why a stranger's file is refused. Such an error quotes the file, which may hold texts of
// any length, and characters that move a terminal's cursor or begin a line of their own in a log. What is said of it is one line that
// can be read, whatever it quotes.
package refused
