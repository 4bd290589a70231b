-- Kolmogorov-Smirnov statistic of a score: the largest distance, over all bins, between the shares of
-- positives and of negatives that are in the bin or above it.
-- views: _groups.sql
-- views: _scores.sql
SELECT slice, max(abs(tpr - fpr)) AS value
FROM bins
GROUP BY slice
