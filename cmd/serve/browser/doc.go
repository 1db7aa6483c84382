// Package browser looks at the server's page with a browser: Chromium, which it finds in the PATH (Debian's package is
// chromium). It is a module of its own, because nothing else needs what drives a browser, and it is run by
//
//	./build.sh page PHOTO.jpeg
//
// which leaves pictures of the page in dist/page.
package browser
