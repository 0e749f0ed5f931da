// Command cert-manager runs the real controllers of cert-manager's module in one process.
//
// The module's own programs are modules of their own, which the Go proxy does not serve. The module
// exports the controllers, so this program starts those that its Issuers need: SelfSigned and CA.
// There is no leader election: a local cluster runs one process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/cert-manager/cert-manager/pkg/api"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	requestsca "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	requestsselfsigned "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	"github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	workers = 2
	qps     = 1000
	burst   = 2000
)

// Importing the package of a controller registers it under its name.
var wanted = []string{
	approver.ControllerName,
	issuers.ControllerName,
	issuing.ControllerName,
	keymanager.ControllerName,
	readiness.ControllerName,
	requestmanager.ControllerName,
	requestsca.CRControllerName,
	requestsselfsigned.CRControllerName,
	revisionmanager.ControllerName,
	trigger.ControllerName,
}

func main() {
	// A set of our own: controller-runtime has a flag --kubeconfig in the common one.
	flags := flag.NewFlagSet("cert-manager", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "the identity and the address of the API server")
	namespace := flags.String("namespace", "cert-manager", "where cluster-wide issuers keep Secrets")
	health := flags.String("health", "", "the address that serves /readyz")
	_ = flags.Parse(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *namespace, *health); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run returns once ctx ends, or with the first error of a part.
func run(ctx context.Context, kubeconfig, namespace, health string) error {
	logger := klog.Background()
	ctrl.SetLogger(logger)
	group, ctx := errgroup.WithContext(klog.NewContext(ctx, logger))
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	injector, err := newInjector(ctx, access)
	if err != nil {
		return fmt.Errorf("cainjector: %w", err)
	}
	factory, controllers, err := newControllers(ctx, kubeconfig, namespace)
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	var ready atomic.Bool
	group.Go(func() error { return serveHealth(ctx, health, &ready) })
	group.Go(func() error { return injector.Start(ctx) })
	for _, each := range controllers {
		group.Go(func() error { return each.Run(workers, ctx) })
	}
	group.Go(func() error {
		shared.KubeSharedInformerFactory.Start(ctx.Done())
		shared.SharedInformerFactory.Start(ctx.Done())
		shared.KubeSharedInformerFactory.WaitForCacheSync(ctx.Done())
		shared.SharedInformerFactory.WaitForCacheSync(ctx.Done())
		ready.Store(injector.GetCache().WaitForCacheSync(ctx))
		return nil
	})
	return group.Wait()
}

// newInjector returns a manager that writes caBundles into webhook configurations.
func newInjector(ctx context.Context, access *rest.Config) (ctrl.Manager, error) {
	access = rest.CopyConfig(access)
	access.QPS, access.Burst = qps, burst
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, api.AddToScheme} {
		if err := add(kinds); err != nil {
			return nil, err
		}
	}
	manager, err := ctrl.NewManager(access, ctrl.Options{
		Scheme:  kinds,
		Metrics: server.Options{BindAddress: "0"},
		// The injectors watch the metadata of Secrets. A second cache, of their contents, could lag
		// behind that watch: an injector would read an old CA and never look again.
		Client: client.Options{
			Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}},
		},
	})
	if err != nil {
		return nil, err
	}
	return manager, cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   true,
			cainjector.ValidatingWebhookConfigurationName: true,
		},
	})
}

// newControllers returns the controllers in wanted, and the factory whose caches they share.
func newControllers(
	ctx context.Context, kubeconfig, namespace string,
) (*controller.ContextFactory, []controller.Interface, error) {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:         kubeconfig,
		KubernetesAPIQPS:   qps,
		KubernetesAPIBurst: burst,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: namespace},
	})
	if err != nil {
		return nil, nil, err
	}
	var made []controller.Interface
	for name, construct := range controller.Known() {
		if !slices.Contains(wanted, name) {
			continue
		}
		one, err := construct(factory)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		made = append(made, one)
	}
	if len(made) != len(wanted) {
		return nil, nil, fmt.Errorf("the module registers %d of %d controllers", len(made), len(wanted))
	}
	return factory, made, nil
}

// serveHealth answers /readyz until ctx ends.
func serveHealth(ctx context.Context, address string, ready *atomic.Bool) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(answer http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			http.Error(answer, "the caches are being filled", http.StatusServiceUnavailable)
		}
	})
	answering := http.Server{Addr: address, Handler: mux}
	defer context.AfterFunc(ctx, func() { _ = answering.Close() })()
	if err := answering.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
