package e2e_test

import (
	"testing"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A migration rewrites each object of a resource in etcd without a change that clients
// can see.
func TestStorageVersionMigration(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	m := createOwnedMap(t, ns, "m")
	name := uniqueName("migration")
	migrations := controlPlane.client.StoragemigrationV1().StorageVersionMigrations()
	createShared(t, migrations, &storagemigrationv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Resource: "configmaps"}},
	}, name)
	done := await(t, "successful migration", getByName(migrations, name), func(m *storagemigrationv1.StorageVersionMigration) bool {
		return meta.IsStatusConditionTrue(m.Status.Conditions, string(storagemigrationv1.MigrationSucceeded))
	})
	if done.Status.ResourceVersion == "" {
		t.Error("the migration does not say up to which version")
	}
	if now := getObject(t, configMaps(ns), "m"); now.ResourceVersion != m.ResourceVersion || now.Generation != m.Generation {
		t.Errorf("the object was version %s and is %s", m.ResourceVersion, now.ResourceVersion)
	}
}
