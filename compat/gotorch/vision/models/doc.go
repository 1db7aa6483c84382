// Package models has networks for images.
package models
