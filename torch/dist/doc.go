// Package dist computes with many processes: torch.distributed on libtorch's own engine. Each process is a rank of a [Group]; one call
// joins it, where torchrun has started the program:
//
//	g, err := dist.InitProcessGroup(ctx, "gloo")
//	if err != nil {
//		return err
//	}
//	defer g.Close()
//
// # Training
//
// [NewDDP] wraps a model. Its backward pass leaves the mean of all ranks' gradients in the parameters; every rank takes the same
// step with it, and has its own part of the data:
//
//	model, err := dist.NewDDP(g, models.ResNet18(10))
//	loader, err := data.NewLoader(set, data.LoaderOptions{
//		BatchSize: 128, Sampler: data.Shard(data.Random(n, seed), g.Rank(), g.Size()),
//	})
//	for batch, err := range loader.Epoch(ctx, epoch) {
//		…
//		F.CrossEntropy(model.Forward(batch.Input), batch.Target).Backward()
//		opt.Step()
//		opt.ZeroGrad()
//	}
//
// Rank 0 saves what is to be kept. [NewZeRO] divides the state of an optimizer among the ranks, where it takes too much memory. The
// results are Python's to the last bit, and ranks of Python and of Go train together in one group.
//
// Where ranks may have different numbers of batches the epoch runs in a [Join], in which those that are done wait for the others.
// [DDP.Compress] and [PowerSGD] have gradients travel in fewer bytes.
//
// Batch normalisations see the batch of their rank. [ConvertSyncBatchNorm] has those of a model see the batches of all ranks, where
// they are small.
//
// # Collectives
//
// Operations of a group return at once with a [Work], and go on meanwhile:
//
//	work := g.AllReduce(sum)
//	…
//	if err := work.Wait(ctx); err != nil {
//		return err
//	}
//
// All ranks call the same operations in the same order, with tensors of the same shape and dtype. A rank that does not come in time,
// or is gone, is an error on all others: see [Error] and [ErrTimeout]. After one the group is of no use; the launcher starts all ranks
// anew. If the ranks disagree about a size, the process that receives too much gets an error, and none of its groups can be used from
// then on; InitOptions.Detail finds such mistakes before anything is sent, at the price of one exchange more for each operation.
//
// [Group.NewGroup] makes a group of some of the ranks, [InitDeviceMesh] those along the dimensions of a grid.
//
// An error names the other rank where one rank alone is concerned, by Send and Recv; [Group.MonitoredBarrier] tells who is missing.
//
// # Objects
//
// [BroadcastObject], [ScatterObject] and [AllGatherObject] carry values of Go's types: what JSON can say of them, as pickles, so that
// ranks of Python's can take part. Nothing in a pickle is run; one with classes is an error.
//
// # Backends
//
// "gloo" carries tensors of the CPU over TCP. GLOO_SOCKET_IFNAME names the network interface, as in Python. "nccl" carries tensors of
// cards, of which each process has one: InitOptions.Device. "cpu:gloo,cuda:nccl" has both. [DefaultBackendForDevice] chooses.
//
//	g, err := dist.InitProcessGroup(ctx, dist.DefaultBackendForDevice(dev), dist.InitOptions{Device: dev})
//
// Over NCCL [Work.Wait] has the current stream wait, not the program. A failure that shows later is the error of the group's next
// operation and of [Group.Err]; the process goes on, whatever TORCH_NCCL_ASYNC_ERROR_HANDLING says. Sends to each other go in a
// [Group.Batch]. The path of NCCL is compiled and has not been run yet.
//
// # Stores
//
// Ranks find each other by a [Store]: the one that torchrun names in the environment, a file, or, for ranks that are goroutines of
// one process, memory. Those use [NewHashStore] and give InitOptions the rank.
package dist
