#!/bin/sh
# Create a Kubernetes job that runs a script once, and print its name: submit.sh <cpus> <memory> <gpus> <script>
# A secret named attest, if there is one, becomes environment variables of the job.
image=attest:latest
volume=attest     # the persistent volume claim
mounted=/volume   # where every job sees it, as this machine does

kubectl create --filename=- --output=name <<JOB
apiVersion: batch/v1
kind: Job
metadata:
  generateName: attest-
  labels: {app: attest}
spec:
  backoffLimit: 0                   # Snakemake tries again
  ttlSecondsAfterFinished: 604800   # a week, for its log
  template:
    metadata:
      labels: {app: attest}
    spec:
      restartPolicy: Never
      containers:
        - name: attest
          image: "$image"
          command: ["/bin/sh", "$4"]
          workingDir: "$PWD"
          resources:
            requests: {cpu: "$1", memory: "$2"}
            limits: {nvidia.com/gpu: "$3"}
          volumeMounts:
            - {name: shared, mountPath: "$mounted"}
          envFrom:
            - secretRef: {name: attest, optional: true}
      volumes:
        - name: shared
          persistentVolumeClaim: {claimName: "$volume"}
JOB
