// Package archive reads and writes PyTorch's zip files, of which all records are stored as they are: those of torch.save
// and of torch.export.save. What it reads may come from strangers: whatever else zip permits is refused, and nothing is
// allocated before it was compared with the file's size.
package archive
