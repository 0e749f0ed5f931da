"""Manifests as users write them, and the output of `appwrapper pack` for them."""

JOB = """\
# Trains for a while.
apiVersion: batch/v1
kind: Job
metadata:
  name: train   # short
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: quay.io/team/train:1
        command: ["sh", "-c"]
        args:
        - |
          set -e

          python train.py   # no comment
        env:
        - {name: DEBUG, value: "on"}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: train
spec:
  clusterIP: None
"""
PACKED = """\
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata:
  name: train
spec:
  components:
  - template:
      # Trains for a while.
      apiVersion: batch/v1
      kind: Job
      metadata:
        name: train   # short
      spec:
        template:
          spec:
            restartPolicy: Never
            containers:
            - name: main
              image: quay.io/team/train:1
              command: ["sh", "-c"]
              args:
              - |
                set -e

                python train.py   # no comment
              env:
              - {name: DEBUG, value: "on"}
"""
OF_SERVICE = """\
  - template:
      apiVersion: v1
      kind: Service
      metadata:
        name: train
      spec:
        clusterIP: None
"""
GROUPS = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: groups
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 3
    workerTemplate:
      spec:
        containers:
        - {name: main, image: i}
"""


SERVING = """\
apiVersion: serving.example/v1
kind: Serving
metadata: {name: s1}
spec:
  template:
    spec:
      containers: [{name: c, image: i}]
"""
ANY = "appwrapper:\n  defaultQueueName: q\n  allowedKinds:\n    wrapped: ['*']\n"
TENSORBOARD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: tensorboard
spec:
  selector: {matchLabels: {app: board}}
  template:
    metadata: {labels: {app: board}}
    spec:
      containers: [{name: board, image: quay.io/team/board:1}]
"""
