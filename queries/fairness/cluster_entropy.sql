-- The mean over rows of the surprise at their cluster.
WITH known AS (
    FROM rows WHERE cluster IS NOT NULL AND weight > 0
),
shares AS (
    SELECT slice, weight,
           sum(weight) OVER (PARTITION BY slice, cluster)
           / sum(weight) OVER (PARTITION BY slice) AS share
    FROM known
),
found AS (
    SELECT slice, -sum(weight * ln(share)) / sum(weight) AS nats FROM shares GROUP BY slice
)
SELECT every.slice, nats / ln(coalesce(getvariable('base'), exp(1))) AS value
FROM (SELECT DISTINCT slice FROM rows) AS every
LEFT JOIN found ON found.slice IS NOT DISTINCT FROM every.slice
