// Command mpi-operator is the MPI Operator with a port for its health that can be chosen.
//
// Its own command listens on port 8080 of every address, whatever it is told: beside another
// cluster, or any other program there, it would end at once. It also ends when it could not renew
// its lease for five seconds, which a busy machine takes now and then.
package main

import (
	"flag"
	"time"
	_ "unsafe" // for go:linkname

	"k8s.io/klog/v2"

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app"
	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
)

//go:linkname healthCheckPort github.com/kubeflow/mpi-operator/cmd/mpi-operator/app.healthCheckPort
var healthCheckPort int

//go:linkname leaseDuration github.com/kubeflow/mpi-operator/cmd/mpi-operator/app.leaseDuration
var leaseDuration time.Duration

//go:linkname renewDuration github.com/kubeflow/mpi-operator/cmd/mpi-operator/app.renewDuration
var renewDuration time.Duration

func main() {
	klog.InitFlags(nil)
	chosen := options.NewServerOption()
	chosen.AddFlags(flag.CommandLine)
	flag.IntVar(&healthCheckPort, "health-port", healthCheckPort, "Port of /healthz.")
	flag.Parse()
	leaseDuration, renewDuration = time.Minute, 40*time.Second
	if err := app.Run(chosen); err != nil {
		klog.Fatal(err)
	}
}
