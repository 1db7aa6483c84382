// Package vision makes images and archives of images, for tests.
package vision
