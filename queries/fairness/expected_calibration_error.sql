-- Expected calibration error: rows are put into equal bins of the score from 0 to 1; the mean, over
-- the rows, of the distance between mean score and share of positives of their bin.
WITH known AS (
    SELECT slice, score, label::INT AS hit, weight,
           least(list_max(list_filter(list_transform(range(bins), lambda i: i / bins), lambda e: e <= score)),
                 (bins - 1) / bins) AS bin
    FROM rows, (SELECT coalesce(getvariable('calibration_bins'), 10)::INT AS bins)
    WHERE score IS NOT NULL AND label IS NOT NULL AND weight > 0
),
distances AS (
    SELECT slice, weight,
           abs(sum(weight * score) OVER bin / sum(weight) OVER bin
               - sum(weight * hit) OVER bin / sum(weight) OVER bin) AS distance
    FROM known
    WINDOW bin AS (PARTITION BY slice, bin)
)
SELECT everyone.slice, sum(weight * distance) / sum(weight) AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN distances ON distances.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
