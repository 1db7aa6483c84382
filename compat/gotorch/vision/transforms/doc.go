// Package transforms changes images on their way into a network. It is for gocv's Mat, as it was: with the real
// gocv.io/x/gocv where OpenCV is installed, with the stand-in beside this module where it is not.
package transforms
