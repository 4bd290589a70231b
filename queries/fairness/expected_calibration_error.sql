-- Expected calibration error: the scores from 0 to 1 are divided into bins of equal width. The mean, over
-- the rows, of the distance between the mean score and the share of positives in their bin.
-- views: _groups.sql
WITH known AS (
    SELECT slice, score, label::INT AS hit, weight,
           list_max(list_filter(list_transform(range(bins), lambda i: i / bins), lambda e: e <= score)) AS bin
    FROM rows, (SELECT coalesce(getvariable('calibration_bins'), 10)::INT AS bins)
    WHERE score IS NOT NULL AND label IS NOT NULL AND weight > 0
),
distances AS (
    SELECT slice, weight, abs(sum(weight * (score - hit)) OVER bin / sum(weight) OVER bin) AS distance
    FROM known
    WINDOW bin AS (PARTITION BY slice, bin)
)
SELECT slices.slice, mean_of(distance, true) AS value
FROM slices
LEFT JOIN distances ON distances.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
