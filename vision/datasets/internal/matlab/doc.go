// Package matlab reads arrays of numbers from MATLAB's files (version 5 to 7.2), in which some data sets are published.
package matlab
