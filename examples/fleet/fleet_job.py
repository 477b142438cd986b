# SPDX-License-Identifier: Apache-2.0
"""Find the ranks of a job that differ from the others, with Spark:

    spark-submit fleet_job.py s3a://bucket/runs [json]

The path has traces, or a dataset that memtap export --format parquet wrote. Executors need memtap, pyarrow and pandas."""
import sys

import memtap.spark
from pyspark.sql import SparkSession


def main():
    spark = SparkSession.builder.appName("memtap fleet").getOrCreate()
    answers = memtap.spark.ask(spark, sys.argv[1])
    print(answers.as_json() if "json" in sys.argv[2:] else answers.as_text(), end="")
    spark.stop()


main()
