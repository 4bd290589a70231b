-- Bound of the error of the average precision. In every bin that has a width, the positives may come all
-- at once and first (highest), or one by one after all negatives (lowest: the precision integrated over
-- them). The larger of the two changes, summed over the bins.
-- views: _groups.sql
-- views: _scores.sql
WITH sums AS (
    SELECT slices.slice, low, wide, sum(weight) FILTER (label) AS p,
           coalesce(sum(weight) FILTER (NOT label), 0) AS q
    FROM slices
    LEFT JOIN binned ON binned.slice IS NOT DISTINCT FROM slices.slice
    GROUP BY slices.slice, low, wide
),
cumulated AS (
    -- tp and fp: the positives and the negatives in the bin or above it
    SELECT *, sum(p) OVER above AS tp, sum(q) OVER above AS fp
    FROM sums
    WINDOW above AS (PARTITION BY slice ORDER BY low DESC)
),
changes AS (
    SELECT slice, p, p * tp / (tp + fp) AS counted,
           CASE WHEN wide THEN p * tp / (tp + fp - q) ELSE counted END AS highest,
           CASE WHEN NOT wide THEN counted
                WHEN fp = 0 THEN p
                ELSE p - fp * ln((tp + fp) / (tp - p + fp)) END AS lowest
    FROM cumulated
)
SELECT slice, greatest(sum(highest - counted), sum(counted - lowest)) / sum(p) AS value
FROM changes
GROUP BY slice
