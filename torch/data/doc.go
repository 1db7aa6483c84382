// Package data brings data sets to a training loop, batch by batch.
//
//	set := data.NewTensorDataset(images, labels)
//	loader, err := data.NewLoader(set, data.LoaderOptions{BatchSize: 128, Shuffle: true, Workers: 2})
//	if err != nil {
//		return err
//	}
//	for batch, err := range loader.Epoch(ctx, epoch) {
//		if err != nil {
//			return err
//		}
//		loss := F.CrossEntropy(model.Forward(batch.Input), batch.Target)
//		…
//	}
//
// # Memory
//
// The body of the loop is a [torch.Scope]: the batch and every tensor made in the body are
// freed when it ends, however it ends. [torch.Tensor.Keep] keeps a tensor. A program that
// asks for batches one by one rather than in a loop has [Loader.Pull], where a batch lives
// until the next one.
//
// # Where batches come from
//
// A [Source] makes whole batches. [NewTensorDataset] is one, for data that fit into
// memory: a batch is one index_select, on whatever device the data are. [Collate] makes
// one of a [Dataset], which has samples one by one, such as files, and of a function
// that joins them; [Stack] joins pairs of tensors. [Map] changes the batches of another
// source: the place for normalisation and augmentation.
//
// [NewDataset] makes a data set of a function; [Subset], [Concat], [RandomSplit] and [MapDataset] make others of it. [StackNested] joins
// samples of types of your own, [Pad] those of unequal lengths. A [Stream] is a data set whose samples come one after the
// other, and [NewStreamLoader] its loader.
//
// # Order
//
// A [Sampler] says which samples an epoch visits: [Sequential], [Random], [RandomOf], [RandomDraws], [Weighted], or a [Shard]
// of one of them for one of several processes. The order depends on the seed and the epoch
// alone, and is that of PyTorch's DistributedSampler. Batches arrive in that order
// whatever the number of workers, and each is made with a random source of its own,
// seeded by seed, epoch and number of the batch. So a run gives the same numbers with 0
// and with 8 workers, and [Loader.EpochFrom] goes on in the middle of an epoch as if it
// had never stopped; a [State] says where that is, for a checkpoint. The exception is libtorch's own random functions, if a source
// calls them.
//
// # Workers
//
// Workers are goroutines that make batches ahead of the loop. They share the memory of the
// process: nothing is copied between them, and a data set is open once. With more than
// one of them a source is called from several goroutines at the same time.
//
// Workers have nothing that is worth keeping between epochs: to start one takes microseconds.
//
// With LoaderOptions.Device they also start the copy of each batch to a card, on a stream of its own, from pinned memory, which libtorch
// keeps and uses again: after the first batches none is pinned anew. [Loader.Stats] tells whether the
// loop waits for its data.
//
// When the loop ends, by its end, break, return, panic, error or a context that is
// cancelled, the workers are stopped and waited for. Their context ends at that moment; a
// data set that waits for something should observe it. A worker that does not return
// within five seconds is abandoned; it frees what it holds when it returns.
//
// A failure, including a panic or a runtime.Goexit in a data set, arrives as the last item of the loop: an
// [*Error] that names epoch, batch, sample and worker.
package data
