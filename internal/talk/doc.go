// Package talk lets a process ask another one: questions and answers are lines of JSON on
// its standard input and output. Programs that measure use it, whose halves have to be
// processes of their own, both warm, and take turns.
//
//	p, err := talk.Start("the other half", exec.Command(self, "-serve"))
//	…
//	err = p.Ask(question{N: 3}, &answer)
//
// The other half:
//
//	err := talk.Answer(os.Stdin, os.Stdout, func(q question) answer { … })
package talk
