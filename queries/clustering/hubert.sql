-- The share of pairs of rows that share both cluster and label.
WITH unit AS (
    -- A row of weight w stands for w rows.
    SELECT slice, cluster, label, row_number() OVER () AS id
    FROM (SELECT slice, cluster, label, unnest(range(weight::BIGINT)) FROM points)
    WHERE cluster IS NOT NULL AND label IS NOT NULL
),
named AS (
    SELECT slice, id, label,
           CASE WHEN cluster = getvariable('noise') THEN 'row ' || id
                ELSE 'cluster ' || cluster::VARCHAR END AS cluster
    FROM unit
),
sizes AS (
    SELECT slice, count(*) AS n FROM named GROUP BY slice
),
pairs AS (
    SELECT one.slice, one.cluster = other.cluster AS together, one.label = other.label AS alike
    FROM named AS one
    JOIN named AS other ON one.slice IS NOT DISTINCT FROM other.slice AND one.id < other.id
),
found AS (
    SELECT sizes.slice,
           count(*) FILTER (together AND alike) AS tp,
           count(*) FILTER (together AND NOT alike) AS fp,
           count(*) FILTER (NOT together AND alike) AS fn,
           count(*) FILTER (NOT together AND NOT alike) AS tn,
           corr(together::INTEGER, alike::INTEGER) AS correlation
    FROM sizes
    LEFT JOIN pairs ON pairs.slice IS NOT DISTINCT FROM sizes.slice
    GROUP BY sizes.slice
)
SELECT every.slice, 
       CASE WHEN tp + fp + fn + tn > 0 THEN tp / (tp + fp + fn + tn) END AS value
FROM (SELECT DISTINCT slice FROM points) AS every
LEFT JOIN found AS found ON found.slice IS NOT DISTINCT FROM every.slice
