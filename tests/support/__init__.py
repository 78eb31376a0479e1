"""What the tests stand on: engines, servers, a browser, threads. Nothing here ships."""
