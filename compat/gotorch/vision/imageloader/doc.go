// Package imageloader reads images and their classes from a tar.gz, shuffles them and makes minibatches of them, while the
// program computes.
package imageloader
