-- Consistency: 1 minus the mean distance between a row's decision and the mean decision of the n_neighbors
-- rows nearest to it, itself included. Rows at the same distance share the positions that are left.
WITH known AS (
    SELECT row_number() OVER () AS id, slice, pred::INT AS decision, features,
           count(*) OVER (PARTITION BY slice) AS size, coalesce(getvariable('n_neighbors'), 5) AS n
    FROM rows
    WHERE pred IS NOT NULL AND features IS NOT NULL
),
pairs AS (
    -- position 0 is that of the row itself
    SELECT one.id, other.decision, list_distance(one.features, other.features) AS distance,
           rank() OVER (PARTITION BY one.id ORDER BY distance) AS position,
           count(*) OVER (PARTITION BY one.id, distance) AS sharing
    FROM known AS one
    JOIN known AS other ON other.slice IS NOT DISTINCT FROM one.slice AND other.id <> one.id
),
nearest AS (
    SELECT known.id, known.slice, known.decision, n,
           sum(p.decision * greatest(0, least(1, (n - position) / sharing))) AS others
    FROM known
    LEFT JOIN pairs AS p ON p.id = known.id
    WHERE size >= n
    GROUP BY ALL
)
SELECT slices.slice, 1 - avg(abs(decision - (decision + coalesce(others, 0)) / n)) AS value
FROM (SELECT DISTINCT slice FROM rows) AS slices
LEFT JOIN nearest ON nearest.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
