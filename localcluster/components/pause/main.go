// Command pause is the first process of a pod's sandbox: it waits, and reaps what nobody waits for.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	told := make(chan os.Signal, 16)
	signal.Notify(told, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM)
	for number := range told {
		if number != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap collects every child that has ended: one SIGCHLD may stand for several.
func reap() {
	for {
		child, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || child <= 0 {
			return
		}
	}
}
