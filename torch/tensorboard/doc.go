// Package tensorboard writes what TensorBoard shows: curves, images, histograms, texts and hyperparameters of a training and the graph
// of its model, in the files of torch.utils.tensorboard. Package torch/watch writes a training's figures into such a file and others,
// with the sensors of the machine.
//
//	log, err := tensorboard.NewWriter("runs/first")
//	if err != nil {
//		return err
//	}
//	defer log.Close()
//	for step := range 1000 {
//		…
//		log.AddScalar("loss/train", loss.Float64(), step)
//	}
//	return log.Close()
//
// and, in a shell with Python's tensorboard,
//
//	tensorboard --logdir runs
//
// # Errors
//
// Every method returns an error for what it cannot show, and then writes nothing. Where the file itself cannot be written, the first error
// is also that of all later calls and of [Writer.Close], so that a training loop may leave it to its end.
//
// # Files
//
// A [Writer] has a file of its own, which it begins when it is made: several of them, and several processes, may write
// to a folder. Each event is
// in the file when the method returns, without waiting for the disk; a program that is killed loses none. TensorBoard
// reads the folder while it is
// written. A Writer may be used by several goroutines.
package tensorboard
