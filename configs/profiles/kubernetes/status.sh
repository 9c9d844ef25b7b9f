#!/bin/sh
# Print how a job stands, running, success or failed: status.sh <job>
# A job that is gone has failed. If the cluster does not answer, the job is taken to be running.
if found=$(kubectl get "$1" --output=jsonpath='{.status.conditions[?(@.status=="True")].type}' 2>&1)
then
    case $found in
      *Complete*) echo success ;;
      *Failed*) echo failed ;;
      *) echo running ;;
    esac
else
    case $found in
      *NotFound*) echo failed ;;
      *) echo running ;;
    esac
fi
