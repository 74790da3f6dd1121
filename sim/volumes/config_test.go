package volumes

import (
	"errors"
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
)

func TestNewBindingModes(t *testing.T) {
	for given, want := range map[storagev1.VolumeBindingMode]storagev1.VolumeBindingMode{
		"": storagev1.VolumeBindingWaitForFirstConsumer,
		storagev1.VolumeBindingWaitForFirstConsumer: storagev1.VolumeBindingWaitForFirstConsumer,
		storagev1.VolumeBindingImmediate:            storagev1.VolumeBindingImmediate,
	} {
		p, err := New(Config{BindingMode: given})
		if err != nil || *newDefaultClass(p.bindingMode).VolumeBindingMode != want {
			t.Errorf("%q: got %v, %v; want %s", given, p, err, want)
		}
	}
}

func TestNewRefusesUnknownMode(t *testing.T) {
	_, err := New(Config{BindingMode: "immediate"})
	if err == nil || !strings.Contains(err.Error(), `unknown volume binding mode "immediate": choose Immediate or WaitForFirstConsumer`) {
		t.Errorf("got %v", err)
	}
}

func TestBuildReportsClientError(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	_, err = p.Build(Environment{
		Informers: informers.NewSharedInformerFactory(fake.NewClientset(), 0),
		Client:    func(string) (kubernetes.Interface, error) { return nil, refused },
	})
	if !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}
