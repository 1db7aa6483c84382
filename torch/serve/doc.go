// Package serve computes many requests at once with a model: in batches, on a bounded set of threads, with a queue that says when it
// is full.
//
//	program, err := export.Load("model.pt2")
//	model, err := serve.Program(program)
//	server, err := serve.New(model, serve.Options{MaxBatch: 32, MaxDelay: 2 * time.Millisecond})
//	defer server.Close()
//
//	// in a handler, a consumer of a queue, a method of gRPC:
//	out, err := server.Run(ctx, x)
//
// A [Model] is anything with named inputs and outputs: a layer in Go ([Module]), a program of torch.export ([Program]), a
// module of TorchScript ([TorchScript], or [Confined] for those of unknown origin), a package of AOTInductor ([AOTI]), a function ([Func]).
//
// # Batches
//
// A request is one or more rows: the first dimension of all its inputs. Rows of requests whose other sizes are equal are computed
// together, at most MaxBatch of them, and each request gets its own rows back. While lanes are busy requests gather; when one is free it
// takes what there is, once the oldest has waited for MaxDelay or the batch is full. So an idle server answers MaxDelay later
// than the model alone, and a loaded one has full batches. Between the two, lanes of a CPU divide what there is: one that is free while
// others compute begins with its part of all the rows that were lately on their way, and waits for no more.
//
// Kernels of libtorch may round in another way for another number of rows. Where answers must not depend on the company, give one bucket:
// with Buckets: []int{8} every batch has 8 rows, some of them zeros, and a request has the same bits whether alone or not.
//
// If a batch fails, its requests are computed again one by one: who sent the bad row gets the error, the others their answers.
//
// # When there is too much
//
// At most Options.Queue requests wait; one more gets [ErrBusy] at once. A request whose context ends leaves the queue, and is
// not computed; once those of all requests in a batch have ended, a [Program] stops before its next operator, even within a loop that
// has no end. Higher priorities go first. Inputs that do not fit the signature are an [InputError].
//
// # New versions
//
// [Server.Swap] warms up another model and puts it in the place of the first: requests that were accepted before are still answered
// by the old one, which is closed after the last of them; none is refused. A model that does not load, warm up or keep its
// signature changes nothing. [NewContext] and [Server.SwapContext] bound how long warming up may take: a [Program] of unknown origin may
// have no end. [Server.Shutdown] answers what was accepted, and ends.
//
// # Sequences
//
// A model with Signature.States keeps something from one request of a sequence to the next, such as the hidden state of a recurrent
// network: [Request].Sequence names the sequence. The states stay with the server, on the model that began them.
package serve
