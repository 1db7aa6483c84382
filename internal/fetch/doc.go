// Package fetch brings files from web servers, and goes on where an earlier transfer broke off.
package fetch
